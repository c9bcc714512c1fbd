"""Draw graphs: picture data, layout, and SVG, HTML and DOT writers."""
