"""The book: the course as a web site."""
