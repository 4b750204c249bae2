"""Jobs of the demonstrations, and benchmark jobs: each a module with a function under the job contract and the rows it reads."""
