"""A world that another machine keeps, reached by its studio's API: for the workers of jobs."""
