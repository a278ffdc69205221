"""What every test may use."""

pytest_plugins = ("tests.fakes.fixtures",)
