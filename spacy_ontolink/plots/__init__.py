"""Plots as SVG, drawn without a library."""

from .curves import alpha_plot, reliability_plot
from .svg import Axis, Plot, percent_axis, stylesheet

__all__ = ["Axis", "Plot", "alpha_plot", "percent_axis", "reliability_plot", "stylesheet"]
