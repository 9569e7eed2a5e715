"""Runs dispatched by Temporal, of which nothing but ids and causes is known there."""
