"""Settings for the whole suite."""

from hypothesis import settings

settings.register_profile("suite", deadline=None)  # machines are noisy
settings.load_profile("suite")
