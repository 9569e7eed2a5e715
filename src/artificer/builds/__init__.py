"""The pure half of builds: state, scheduler, jobs and prompts."""
