"""The only factory: puts Spark, the controller and everything around them together, for a job file or for a script."""
