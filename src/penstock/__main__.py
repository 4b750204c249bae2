"""`python -m penstock`, and the script that spark-submit runs: `spark-submit ... "$(penstock entry)" run job.toml`."""

from penstock.cli import main

if __name__ == "__main__":
    main()
