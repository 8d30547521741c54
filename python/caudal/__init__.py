"""Caudal in Python. caudal.rl offers its environments to Gymnasium."""
