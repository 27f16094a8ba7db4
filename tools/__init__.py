"""What makes the course: its book, handouts, outputs, pictures and translations, and mutants of its code."""
