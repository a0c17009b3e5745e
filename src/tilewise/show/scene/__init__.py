"""Scenes: what every view of a layout draws, as plain data.

model   elements, their places, panels, steps, notes; JSON and back
"""
