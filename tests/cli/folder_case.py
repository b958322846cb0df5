"""A folder that all tests of a class share."""
import os
import tempfile
import unittest


class FolderCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    @classmethod
    def at(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def write(cls, name, data):
        with open(cls.at(name), "wb") as file:
            file.write(data)

    def read(self, name):
        with open(self.at(name), "rb") as file:
            return file.read()
