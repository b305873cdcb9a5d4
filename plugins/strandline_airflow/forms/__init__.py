"""The DAGs that people trigger: the form of each, and the order that it becomes."""
