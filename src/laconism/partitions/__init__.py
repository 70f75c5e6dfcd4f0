"""Fits from sums over partitions of the rows, on one machine or on many.

The few columns of a model are found on a sample of the rows and weighed on all of them. Only sums
travel: nothing of the size of the data leaves its partition.

- ``parts``: a partition, what a pass over all of them is, and the partitions of arrays in memory.
- ``describe``: the first pass, which checks the data and counts rows and classes.
- ``sample``: the stratified sample on which columns, kernel and prior are chosen.
- ``sums``: the pass that sums what a least-squares problem needs, and that over all candidate columns.
- ``weigh``: Newton's method on the kept columns, one pass for each step.
- ``start``: from a model that was fitted to a sample to one fitted to all rows.
- ``values``: the level and the noise of a regression.
- ``local``: many rows in memory.
"""
