"""Kills: every task dies at every step at which it writes, and at any other instant.

A `story` lands, compacts and publishes a few waves of records with the tasks' own code, each task
in a process of its own; then come the `orders`, from a reconciliation to an erasure. `doors` are
the calls through which a task writes: there a process can be made to die or to stand still, without
a line for that in the code itself. `plan` says who dies next, `law` what must be the case at the
end, whatever happened on the way.

Most processes are forked from a nursery that has imported everything, and their Spark is a JVM
that stays: so a kill costs a second, not a minute. Of a compaction that is the driver program, and
what the JVM has in hand then, it finishes, as the one of a driver that is killed does. Some
compactions are a `spark-submit` of their own, for the JVM to be killed. Whole tables that Spark
hands out are written by its Python workers: `worker` has doors there.

    make chaos              every step once
    make chaos KILLS=300    that many kills, those at random instants included
"""
