"""Robots beside the engines that their files are made for: oracles, what is compared, the page, and spoiled files."""
