"""A job whose rows each wait about a millisecond for a pretended remote lookup: capacity that two cores can show."""
