"""Plug-ins of the documentation site, which `make docs` builds."""
