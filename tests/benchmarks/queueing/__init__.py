"""A simulated day in the queue: who comes (`arrivals`), the real matching on a real Redis (`day`), those who come first
served first (`first_come`), and what is compared (`figures`)."""
