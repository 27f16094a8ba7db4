"""What views share: the base class, the page, the colours, the fonts, and the JavaScript and CSS of common parts."""
