"""Xids and SXids: how their events come, what their codes mean, what is exported."""
