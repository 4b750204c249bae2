"""Regressions over (checkpoint interval, rate[, number of executors]): candidate forms, their choice by cross-validation, and the error of the chosen ones."""
