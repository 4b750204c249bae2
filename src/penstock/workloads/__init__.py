"""Jobs to try things on, each an ordinary function under the job contract."""
