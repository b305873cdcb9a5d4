"""What runs in Spark 4.3's own environment: its AUTO CDC, and the catalog that it needs.

`setup.sh auto-cdc` makes the environment; `bench.contenders.auto_cdc` starts what is here.
"""
