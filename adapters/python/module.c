/* SPDX-License-Identifier: MIT */
/* The module dodo._dodo. */
#include "adapters/python/region.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#define DODO_NO_SHORT_NAMES
#include "dodo/dodo.h"
#include "dodo/manage.h"

#define FIELD(name)                            \
    {                                          \
#name, offsetof(DodoManageStats, name) \
    }
static const struct {
    const char *name;
    size_t at;
} fields[] = {
    FIELD(local_hits), FIELD(local_bytes),     FIELD(remote_hits),     FIELD(remote_bytes),
    FIELD(disk_reads), FIELD(disk_bytes),      FIELD(bypasses),        FIELD(bypass_bytes),
    FIELD(writes),     FIELD(write_bytes),     FIELD(evictions),       FIELD(eviction_bytes),
    FIELD(clones),     FIELD(clone_bytes),     FIELD(writebacks),      FIELD(writeback_bytes),
    FIELD(readaheads), FIELD(readahead_bytes), FIELD(readahead_used),  FIELD(refractions),
    FIELD(regions),    FIELD(cached_bytes),    FIELD(dirty_bytes),     FIELD(limit_bytes),
    FIELD(extents),    FIELD(extent_bytes),    FIELD(extent_spent_ns), FIELD(extent_earned_ns)};

static PyObject *module_stats(PyObject *module, PyObject *unused)
{
    DodoManageStats st;
    (void)module, (void)unused;
    PyThreadState *thread = PyEval_SaveThread();
    (void)dodo_manage_stats(&st); /* fails only without a place for the answer */
    PyEval_RestoreThread(thread);
    PyObject *all = PyDict_New();
    for (size_t i = 0; all && i < sizeof fields / sizeof *fields; i++) {
        const uint64_t *value = (const uint64_t *)((const char *)&st + fields[i].at);
        PyObject *number = PyLong_FromUnsignedLongLong(*value);
        if (!number || PyDict_SetItemString(all, fields[i].name, number) < 0)
            Py_CLEAR(all);
        Py_XDECREF(number);
    }
    return all;
}

static PyObject *module_set(PyObject *module, PyObject *args)
{
    int option;
    unsigned long long value;
    (void)module;
    if (!PyArg_ParseTuple(args, "iK:_set", &option, &value))
        return NULL;
    return dodo_manage_set(option, value) < 0 ? raise_error(errno) : Py_NewRef(Py_None);
}

static PyObject *module_set_policy(PyObject *module, PyObject *args)
{
    int policy;
    (void)module;
    if (!PyArg_ParseTuple(args, "i:_set_policy", &policy))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int result = dodo_csetPolicy(policy);
    int error = errno;
    PyEval_RestoreThread(thread);
    return result < 0 ? raise_error(error) : Py_NewRef(Py_None);
}

static int add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int result = type ? PyModule_AddObjectRef(module, name, type) : -1;
    Py_XDECREF(type);
    return result;
}

static int add_numbers(PyObject *module)
{
    const struct {
        const char *name;
        long value;
    } numbers[] = {{"RDONLY", DODO_RDONLY},
                   {"RETAIN", DODO_RETAIN},
                   {"FALLBACK", DODO_FALLBACK},
                   {"STRIPE", DODO_STRIPE},
                   {"MIRROR", DODO_MIRROR},
                   {"WRITE_THROUGH", DODO_MANAGE_WRITE_THROUGH},
                   {"CACHE_BYTES", DODO_MANAGE_CACHE_BYTES},
                   {"READAHEAD_BYTES", DODO_MANAGE_READAHEAD_BYTES},
                   {"LRU", DODO_MANAGE_LRU},
                   {"MRU", DODO_MANAGE_MRU},
                   {"FIRST_IN", DODO_MANAGE_FIRST_IN},
                   {"ADAPTIVE", DODO_MANAGE_ADAPTIVE},
                   {"S3_FIFO", DODO_MANAGE_S3_FIFO},
                   {"SIEVE", DODO_MANAGE_SIEVE}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value) < 0)
            return -1;
    return PyModule_AddStringConstant(module, "version", dodo_version());
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, regions_forget);
}

static int module_exec(PyObject *module)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    if (add_type(module, &region_remote_spec, "Remote") < 0 ||
        add_type(module, &region_cached_spec, "Cached") < 0)
        return -1;
    return add_numbers(module);
}

static PyMethodDef methods[] = {
    {"stats", module_stats, METH_NOARGS, "What the region cache has done, by name."},
    {"_set", module_set, METH_VARARGS, NULL},
    {"_set_policy", module_set_policy, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)module_exec}, {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "dodo._dodo",
                                 .m_doc = "Calls of libdodo and libmanage; see the package dodo.",
                                 .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__dodo(void)
{
    return PyModuleDef_Init(&definition);
}
