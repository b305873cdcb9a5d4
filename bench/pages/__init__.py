"""Pages: measurements, kept and shown, with the ratios that they are to reach."""
