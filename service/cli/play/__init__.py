"""`durak play`: an interactive match at a terminal."""
