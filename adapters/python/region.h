/* SPDX-License-Identifier: MIT */
/* The part of the Python package that calls the libraries: two types, one over libdodo's regions
 * and one over libmanage's. What they mean, and what a program sees, is in dodo/__init__.py.
 *
 * The interpreter's lock is given up around every call of a library. A region's own lock then keeps
 * its descriptor from being closed, and its number from being given to another region, while a call
 * of another thread uses it. */
#ifndef DODO_PYTHON_REGION_H
#define DODO_PYTHON_REGION_H

#include <Python.h>

/* An OSError with the errno and the library's text for it; NULL, to be returned. */
PyObject *raise_error(int error);

/* In the child of a fork: the regions that its parent had are not its own. */
void regions_forget(void);

extern PyType_Spec region_remote_spec, region_cached_spec;

PyMODINIT_FUNC PyInit__dodo(void);

#endif
