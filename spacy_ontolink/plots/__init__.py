"""Plots as SVG, drawn without a library."""

from .curves import alpha_plot, reliability_plot
from .svg import Axis, Plot, marks, percent_axis, stylesheet

__all__ = ["Axis", "Plot", "alpha_plot", "marks", "percent_axis", "reliability_plot", "stylesheet"]
