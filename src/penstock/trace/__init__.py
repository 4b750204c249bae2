"""A trace: the file that says when it began and how its rate was changed since, and the rows it is made of. Spark's source and the feeder both read it."""
