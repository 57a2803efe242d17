"""Several processes behind one port: the parent that supervises them, and its link to each."""
