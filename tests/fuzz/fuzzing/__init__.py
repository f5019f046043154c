"""Seeds, mutations and child processes that the tests of this folder share."""
