"""GPUs of AMD, from the files of the drivers amdgpu and amdkfd."""
