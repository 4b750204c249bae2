"""Regressions over (checkpoint interval, rate[, scale-out]): forms to choose from, the choice by what they have not seen, and how wrong it is."""
