"""The module `uipc.adapter`: device arrays of other libraries, of which there are none on a CPU."""
