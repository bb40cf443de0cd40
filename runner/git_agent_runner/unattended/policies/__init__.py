"""What to do with runs that died, failed or fell silent, as the person wrote it down beforehand."""
