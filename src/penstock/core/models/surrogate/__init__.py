"""Regressions over (checkpoint interval, rate[, scale-out]): candidate forms, their choice by cross-validation, and the error of the chosen ones."""
