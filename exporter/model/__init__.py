"""What was seen and concluded: frozen values only, no behaviour that reads anything."""
