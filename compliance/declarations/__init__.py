"""What is handed in: the figures of a market and period as a declaration, and the file of the United Kingdom.

Frames and tables in, rows and documents out. How a tonne is counted is `compliance.rollup`; writing a file is not here.
"""
