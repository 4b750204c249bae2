"""Policies: each a frozen value that turns an assessment into an explained decision. A new one is one file and a test."""
