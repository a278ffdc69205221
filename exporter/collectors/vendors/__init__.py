"""GPUs of AMD and Intel, and Ascend NPUs."""
