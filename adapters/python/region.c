/* SPDX-License-Identifier: MIT */
#include "adapters/python/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#define DODO_NO_SHORT_NAMES
#include "dodo/dodo.h"
#include "dodo/manage.h"

enum { NOT_OPEN = -1 };

typedef struct Calls {
    int (*open)(size_t len, int fd, off_t offset, unsigned flags);
    ssize_t (*read)(int rd, off_t offset, void *buf, size_t len);
    ssize_t (*write)(int rd, off_t offset, const void *buf, size_t len);
    int (*sync)(int rd);
    int (*close)(int rd);
    bool close_frees; /* also when it fails, and then nothing is lost */
} Calls;

typedef struct Region {
    PyObject_HEAD const Calls *calls;
    pthread_rwlock_t lock; /* held for reading during a call on @rd */
    _Atomic int rd;        /* changed with @lock held for writing, and @closing above 0 */
    unsigned closing;      /* threads that are closing it; under the interpreter's lock */
    unsigned process;      /* whose it is */
    uint64_t length;
    unsigned flags;
} Region;

/* One call on a region. */
enum What { READ, WRITE, SYNC, PREFETCH, STAT };
typedef struct Task {
    enum What what;
    off_t offset;
    void *buf; /* WRITE: only read from. STAT: a DodoStat */
    size_t len;
} Task;

static const Calls remote_calls = {.open = dodo_mopen_flags,
                                   .read = dodo_mread,
                                   .write = dodo_mwrite,
                                   .sync = dodo_msync,
                                   .close = dodo_mclose,
                                   .close_frees = true};
static const Calls cached_calls = {.open = dodo_copen_flags,
                                   .read = dodo_cread,
                                   .write = dodo_cwrite,
                                   .sync = dodo_csync,
                                   .close = dodo_cclose};

static unsigned this_process; /* differs in a child */

void regions_forget(void)
{
    this_process++;
}

PyObject *raise_error(int error)
{
    PyObject *text = PyUnicode_DecodeFSDefault(dodo_last_error());
    PyObject *arguments = text ? Py_BuildValue("(iN)", error, text) : NULL;
    if (arguments)
        PyErr_SetObject(PyExc_OSError, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static ssize_t task_do(const Calls *calls, int rd, const Task *task)
{
    switch (task->what) {
    case READ:
        return calls->read(rd, task->offset, task->buf, task->len);
    case WRITE:
        return calls->write(rd, task->offset, task->buf, task->len);
    case SYNC:
        return calls->sync(rd);
    case PREFETCH:
        return dodo_prefetch(rd, task->offset, task->len);
    case STAT:
        break;
    }
    return dodo_stat(rd, task->buf);
}

static bool is_open(const Region *r)
{
    return r->closing == 0 && r->process == this_process && r->rd != NOT_OPEN;
}

static void raise_closed(const Region *r)
{
    PyErr_SetString(PyExc_ValueError,
                    r->process == this_process || r->rd == NOT_OPEN
                        ? "I/O operation on a closed region"
                        : "the region was opened before the fork: open it in this process");
}

/* What the library returned; -1 with an exception set. */
static ssize_t region_run(Region *r, const Task *task)
{
    ssize_t result = -1;
    if (!is_open(r)) {
        raise_closed(r);
        return -1;
    }
    PyThreadState *thread = PyEval_SaveThread();
    (void)pthread_rwlock_rdlock(&r->lock);
    bool open = r->rd != NOT_OPEN; /* or closed just now */
    if (open)
        result = task_do(r->calls, r->rd, task);
    int error = errno;
    (void)pthread_rwlock_unlock(&r->lock);
    PyEval_RestoreThread(thread);
    if (!open)
        raise_closed(r);
    else if (result < 0)
        (void)raise_error(error);
    return result;
}

/* 0; -errno: it is still open. Waits for calls of other threads. */
static int region_close(Region *r)
{
    int error = 0;
    r->closing++;
    PyThreadState *thread = PyEval_SaveThread();
    (void)pthread_rwlock_wrlock(&r->lock);
    if (r->rd != NOT_OPEN && r->calls->close(r->rd) < 0 && !r->calls->close_frees)
        error = errno;
    if (error == 0)
        r->rd = NOT_OPEN;
    (void)pthread_rwlock_unlock(&r->lock);
    PyEval_RestoreThread(thread);
    r->closing--;
    return -error;
}

/* ---- making and ending ---------------------------------------------------------------------- */

static PyObject *region_new(PyTypeObject *type, const Calls *calls)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Region *r = (Region *)alloc(type, 0);
    if (!r)
        return NULL;
    r->calls = calls;
    r->rd = NOT_OPEN;
    r->process = this_process;
    (void)pthread_rwlock_init(&r->lock, NULL);
    return (PyObject *)r;
}

static PyObject *remote_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs; /* for __init__ */
    return region_new(type, &remote_calls);
}

static PyObject *cached_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    return region_new(type, &cached_calls);
}

/* (fd, length, offset, flags); @fd stays the caller's. */
static int region_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Region *r = (Region *)self;
    int fd;
    Py_ssize_t length;
    long long offset;
    unsigned flags;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "inLI:region", &fd, &length, &offset, &flags))
        return -1;
    if (r->rd != NOT_OPEN) {
        PyErr_SetString(PyExc_ValueError, "the region is open already");
        return -1;
    }
    PyThreadState *thread = PyEval_SaveThread();
    int rd = r->calls->open(length < 0 ? 0 : (size_t)length, fd, offset, flags);
    int error = errno;
    PyEval_RestoreThread(thread);
    if (rd < 0) {
        (void)raise_error(error);
        return -1;
    }
    r->rd = rd;
    r->process = this_process;
    r->length = (uint64_t)length;
    r->flags = flags;
    return 0;
}

/* Of one that nobody closed: without a word, which __del__ has for it. */
static void region_dealloc(PyObject *self)
{
    Region *r = (Region *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    if (r->process == this_process) { /* else its lock may be held by a thread that is not here */
        if (r->rd != NOT_OPEN)
            (void)region_close(r);
        (void)pthread_rwlock_destroy(&r->lock);
    }
    release(self);
    Py_DECREF(type);
}

/* ---- methods -------------------------------------------------------------------------------- */

static PyObject *region_pread(PyObject *self, PyObject *args)
{
    const Region *r = (Region *)self;
    Py_ssize_t n;
    long long offset;
    if (!PyArg_ParseTuple(args, "nL:pread", &n, &offset))
        return NULL;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "a negative number of bytes");
        return NULL;
    }
    uint64_t left = offset >= 0 && (uint64_t)offset < r->length ? r->length - (uint64_t)offset : 0;
    if ((uint64_t)n > left)
        n = (Py_ssize_t)left;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n);
    if (!bytes)
        return NULL;
    Task task = {.what = READ, .offset = offset, .buf = PyBytes_AsString(bytes), .len = (size_t)n};
    ssize_t got = region_run((Region *)self, &task);
    PyObject *result = got < 0    ? NULL
                       : got == n ? Py_NewRef(bytes)
                                  : PyBytes_FromStringAndSize(task.buf, got);
    Py_DECREF(bytes);
    return result;
}

static PyObject *region_readinto(PyObject *self, PyObject *args)
{
    Py_buffer view;
    long long offset = 0;
    if (!PyArg_ParseTuple(args, "w*|L:readinto", &view, &offset))
        return NULL;
    Task task = {.what = READ, .offset = offset, .buf = view.buf, .len = (size_t)view.len};
    ssize_t got = region_run((Region *)self, &task);
    PyBuffer_Release(&view);
    return got < 0 ? NULL : PyLong_FromSsize_t(got);
}

static PyObject *region_pwrite(PyObject *self, PyObject *args)
{
    Py_buffer view;
    long long offset;
    if (!PyArg_ParseTuple(args, "y*L:pwrite", &view, &offset))
        return NULL;
    Task task = {.what = WRITE, .offset = offset, .buf = view.buf, .len = (size_t)view.len};
    ssize_t taken = region_run((Region *)self, &task);
    PyBuffer_Release(&view);
    return taken < 0 ? NULL : PyLong_FromSsize_t(taken);
}

static PyObject *region_sync(PyObject *self, PyObject *unused)
{
    (void)unused;
    Task task = {.what = SYNC};
    return region_run((Region *)self, &task) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *region_prefetch(PyObject *self, PyObject *args)
{
    long long offset;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "Ln:prefetch", &offset, &len))
        return NULL;
    Task task = {.what = PREFETCH, .offset = offset, .len = (size_t)len};
    return region_run((Region *)self, &task) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *region_stat(PyObject *self, PyObject *unused)
{
    DodoStat st;
    Task task = {.what = STAT, .buf = &st};
    (void)unused;
    if (region_run((Region *)self, &task) < 0)
        return NULL;
    return Py_BuildValue("{s:s,s:K,s:K,s:K,s:K,s:K,s:N,s:N,s:I,s:K}", "host", st.host, "length",
                         (unsigned long long)st.length, "filled_bytes",
                         (unsigned long long)st.filled_bytes, "hits", (unsigned long long)st.hits,
                         "misses", (unsigned long long)st.misses, "written",
                         (unsigned long long)st.written, "active", PyBool_FromLong((long)st.active),
                         "reused", PyBool_FromLong((long)st.reused), "copies", (unsigned)st.copies,
                         "mirrored_bytes", (unsigned long long)st.mirrored_bytes);
}

static PyObject *region_close_method(PyObject *self, PyObject *unused)
{
    Region *r = (Region *)self;
    (void)unused;
    if (r->process != this_process) { /* the parent's, which stays open there */
        r->rd = NOT_OPEN;
        return Py_NewRef(Py_None);
    }
    int result = region_close(r);
    return result < 0 ? raise_error(-result) : Py_NewRef(Py_None);
}

static PyObject *region_closed(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((Region *)self)->rd == NOT_OPEN);
}

static PyObject *region_inherited(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((Region *)self)->process != this_process);
}

static PyObject *region_length(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((Region *)self)->length);
}

static PyObject *region_flags(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(((Region *)self)->flags);
}

/* ---- the types ------------------------------------------------------------------------------ */

#define SHARED_METHODS                                                                      \
    {"pread", region_pread, METH_VARARGS, "pread(n, offset): up to n bytes from there."},   \
        {"readinto", region_readinto, METH_VARARGS,                                         \
         "readinto(buffer, offset=0): fills the buffer from there; how many bytes came."},  \
        {"pwrite", region_pwrite, METH_VARARGS,                                             \
         "pwrite(data, offset): writes there; how many bytes were taken."},                 \
        {"sync", region_sync, METH_NOARGS, "Waits until what was written is on the disk."}, \
    {                                                                                       \
        "close", region_close_method, METH_NOARGS, "Gives the region back."                 \
    }

static PyMethodDef cached_methods[] = {SHARED_METHODS, {NULL, NULL, 0, NULL}};

static PyMethodDef remote_methods[] = {
    SHARED_METHODS,
    {"prefetch", region_prefetch, METH_VARARGS,
     "prefetch(offset, n): announces that n bytes from there will be read."},
    {"stat", region_stat, METH_NOARGS, "The region's state, as dodo_stat(3) has it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", region_closed, NULL, "Whether it is closed.", NULL},
    {"length", region_length, NULL, "Its length, in bytes.", NULL},
    {"_flags", region_flags, NULL, "As it was opened.", NULL},
    {"_inherited", region_inherited, NULL, "Whether it is the parent's, before a fork.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot remote_slots[] = {{Py_tp_new, (void *)remote_new},
                                     {Py_tp_init, (void *)region_init},
                                     {Py_tp_dealloc, (void *)region_dealloc},
                                     {Py_tp_methods, remote_methods},
                                     {Py_tp_getset, properties},
                                     {0, NULL}};

static PyType_Slot cached_slots[] = {{Py_tp_new, (void *)cached_new},
                                     {Py_tp_init, (void *)region_init},
                                     {Py_tp_dealloc, (void *)region_dealloc},
                                     {Py_tp_methods, cached_methods},
                                     {Py_tp_getset, properties},
                                     {0, NULL}};

PyType_Spec region_remote_spec = {.name = "dodo._dodo.Remote",
                                  .basicsize = sizeof(Region),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  .slots = remote_slots};

PyType_Spec region_cached_spec = {.name = "dodo._dodo.Cached",
                                  .basicsize = sizeof(Region),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  .slots = cached_slots};
