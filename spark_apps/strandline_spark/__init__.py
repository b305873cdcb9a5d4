"""The Spark engine: the stages of `strandline.law` as columns, and the commits.

decode → distinct → link → fold → apply. It must agree with the law on every input; it may only be
faster.
"""
