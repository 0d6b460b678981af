! SPDX-License-Identifier: MIT
! The calls of libdodo and libmanage for Fortran 2018, by the names that they have in C. What they do,
! return and fail with, the headers <dodo/dodo.h> and <dodo/manage.h> say, and the manual pages; what is
! particular to Fortran, docs/fortran.md. A program compiles this file with its own:
!   gfortran dodo.f90 prog.f90 -o prog $(pkg-config --libs dodo-manage)
module dodo
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! off_t and ssize_t: 64 bits, and as wide as a pointer
  integer, parameter :: dodo_off = c_int64_t, dodo_ssize = c_intptr_t

  ! Flags of dodo_mopen_flags and dodo_copen_flags; add them up.
  integer(c_int), parameter :: DODO_RDONLY = 1, DODO_RETAIN = 2, DODO_FALLBACK = 4, DODO_STRIPE = 8, &
    DODO_MIRROR = 16
  integer(c_int), parameter :: DODO_MANAGE_WRITE_THROUGH = 256

  ! For dodo_csetPolicy.
  integer(c_int), parameter :: DODO_MANAGE_LRU = 0, DODO_MANAGE_MRU = 1, DODO_MANAGE_FIRST_IN = 2
  integer(c_int), parameter :: DODO_MANAGE_ADAPTIVE = 3, DODO_MANAGE_S3_FIFO = 4, DODO_MANAGE_SIEVE = 5
  ! For dodo_cadvise.
  integer(c_int), parameter :: DODO_CADVISE_NORMAL = 0, DODO_CADVISE_SEQUENTIAL = 1, DODO_CADVISE_RANDOM = 2
  integer(c_int), parameter :: DODO_CADVISE_NOREUSE = 3, DODO_CADVISE_WILLNEED = 4, DODO_CADVISE_DONTNEED = 5
  ! For dodo_manage_set.
  integer(c_int), parameter :: DODO_MANAGE_CACHE_BYTES = 1, DODO_MANAGE_READAHEAD_BYTES = 2

  type, bind(C) :: dodo_iovec ! struct iovec
    type(c_ptr) :: base
    integer(c_size_t) :: len
  end type

  type, bind(C) :: DodoDone
    type(c_ptr) :: tag
    integer(dodo_ssize) :: result
    integer(c_int) :: error
  end type

  type, bind(C) :: DodoStat
    character(kind=c_char) :: host(64)
    integer(c_int64_t) :: length, filled_bytes, hits, misses, written
    integer(c_int32_t) :: flags, active, reused, copies
    integer(c_int64_t) :: mirrored_bytes, reserved(7)
  end type

  type, bind(C) :: DodoManageStats
    integer(c_int64_t) :: local_hits, local_bytes, remote_hits, remote_bytes, disk_reads, disk_bytes
    integer(c_int64_t) :: bypasses, bypass_bytes, writes, write_bytes, evictions, eviction_bytes
    integer(c_int64_t) :: clones, clone_bytes, writebacks, writeback_bytes
    integer(c_int64_t) :: readaheads, readahead_bytes, readahead_used, refractions
    integer(c_int64_t) :: regions, cached_bytes, dirty_bytes, limit_bytes
    integer(c_int64_t) :: extents, extent_bytes, extent_spent_ns, extent_earned_ns
    integer(c_int64_t) :: reserved(4)
  end type

  interface
    ! ---- libdodo: regions -----------------------------------------------------------------------
    integer(c_int) function dodo_mopen(len, fd, offset) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_size_t), value :: len
      integer(c_int), value :: fd
      integer(dodo_off), value :: offset
    end function

    integer(c_int) function dodo_mopen_flags(len, fd, offset, flags) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_size_t), value :: len
      integer(c_int), value :: fd
      integer(dodo_off), value :: offset
      integer(c_int), value :: flags
    end function

    integer(dodo_ssize) function dodo_mread(rd, offset, buf, len) bind(C)
      import :: c_int, c_size_t, dodo_off, dodo_ssize
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(*) :: buf(*)
      integer(c_size_t), value :: len
    end function

    integer(dodo_ssize) function dodo_mreadv(rd, iov, iovcnt, offset) bind(C)
      import :: c_int, dodo_off, dodo_ssize, dodo_iovec
      integer(c_int), value :: rd
      type(dodo_iovec), intent(in) :: iov(*)
      integer(c_int), value :: iovcnt
      integer(dodo_off), value :: offset
    end function

    integer(dodo_ssize) function dodo_mwrite(rd, offset, buf, len) bind(C)
      import :: c_int, c_size_t, dodo_off, dodo_ssize
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(*), intent(in) :: buf(*)
      integer(c_size_t), value :: len
    end function

    integer(dodo_ssize) function dodo_mwritev(rd, iov, iovcnt, offset) bind(C)
      import :: c_int, dodo_off, dodo_ssize, dodo_iovec
      integer(c_int), value :: rd
      type(dodo_iovec), intent(in) :: iov(*)
      integer(c_int), value :: iovcnt
      integer(dodo_off), value :: offset
    end function

    integer(c_int) function dodo_mclose(rd) bind(C)
      import :: c_int
      integer(c_int), value :: rd
    end function

    integer(c_int) function dodo_msync(rd) bind(C)
      import :: c_int
      integer(c_int), value :: rd
    end function

    integer(c_int) function dodo_mdiscard(rd, offset, len) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      integer(c_size_t), value :: len
    end function

    integer(c_int) function dodo_prefetch(rd, offset, len) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      integer(c_size_t), value :: len
    end function

    integer(dodo_ssize) function dodo_mfillv(rd, iov, iovcnt, offset) bind(C)
      import :: c_int, dodo_off, dodo_ssize, dodo_iovec
      integer(c_int), value :: rd
      type(dodo_iovec), intent(in) :: iov(*)
      integer(c_int), value :: iovcnt
      integer(dodo_off), value :: offset
    end function

    integer(c_int) function dodo_stat(rd, st) bind(C)
      import :: c_int, DodoStat
      integer(c_int), value :: rd
      type(DodoStat), intent(out) :: st
    end function

    integer(c_int) function dodo_shutdown() bind(C)
      import :: c_int
    end function

    ! ---- libdodo: queues ------------------------------------------------------------------------
    ! A buffer is the library's until its request is taken back: give c_loc() of a variable with
    ! the attributes target and asynchronous, never of a section that is not contiguous.
    type(c_ptr) function dodo_queue_open(depth) bind(C)
      import :: c_ptr, c_int
      integer(c_int), value :: depth
    end function

    integer(c_int) function dodo_queue_read(q, rd, offset, buf, len, tag) bind(C)
      import :: c_int, c_ptr, c_size_t, dodo_off
      type(c_ptr), value :: q
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(c_ptr), value :: buf
      integer(c_size_t), value :: len
      type(c_ptr), value :: tag
    end function

    integer(c_int) function dodo_queue_write(q, rd, offset, buf, len, tag) bind(C)
      import :: c_int, c_ptr, c_size_t, dodo_off
      type(c_ptr), value :: q
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(c_ptr), value :: buf
      integer(c_size_t), value :: len
      type(c_ptr), value :: tag
    end function

    integer(c_int) function dodo_queue_sync(q, rd, tag) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: q
      integer(c_int), value :: rd
      type(c_ptr), value :: tag
    end function

    integer(c_int) function dodo_queue_cancel(q, tag) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: q
      type(c_ptr), value :: tag
    end function

    integer(c_int) function dodo_queue_wait(q, done, max, timeout_ms) bind(C)
      import :: c_int, c_ptr, DodoDone
      type(c_ptr), value :: q
      type(DodoDone), intent(inout) :: done(*)
      integer(c_int), value :: max, timeout_ms
    end function

    integer(c_int) function dodo_queue_fd(q) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: q
    end function

    integer(c_int) function dodo_queue_close(q) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: q
    end function

    ! ---- libmanage: the region cache ------------------------------------------------------------
    integer(c_int) function dodo_copen(len, fd, offset) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_size_t), value :: len
      integer(c_int), value :: fd
      integer(dodo_off), value :: offset
    end function

    integer(c_int) function dodo_copen_flags(len, fd, offset, flags) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_size_t), value :: len
      integer(c_int), value :: fd
      integer(dodo_off), value :: offset
      integer(c_int), value :: flags
    end function

    integer(dodo_ssize) function dodo_cread(rd, offset, buf, len) bind(C)
      import :: c_int, c_size_t, dodo_off, dodo_ssize
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(*) :: buf(*)
      integer(c_size_t), value :: len
    end function

    integer(dodo_ssize) function dodo_cwrite(rd, offset, buf, len) bind(C)
      import :: c_int, c_size_t, dodo_off, dodo_ssize
      integer(c_int), value :: rd
      integer(dodo_off), value :: offset
      type(*), intent(in) :: buf(*)
      integer(c_size_t), value :: len
    end function

    integer(c_int) function dodo_csync(rd) bind(C)
      import :: c_int
      integer(c_int), value :: rd
    end function

    integer(c_int) function dodo_cclose(rd) bind(C)
      import :: c_int
      integer(c_int), value :: rd
    end function

    integer(c_int) function dodo_cadvise(rd, offset, len, advice) bind(C)
      import :: c_int, c_size_t, dodo_off
      integer(c_int), value :: rd, advice
      integer(dodo_off), value :: offset
      integer(c_size_t), value :: len
    end function

    integer(c_int) function dodo_csetPolicy(policy) bind(C, name="dodo_csetPolicy")
      import :: c_int
      integer(c_int), value :: policy
    end function

    integer(c_int) function dodo_manage_stats(st) bind(C)
      import :: c_int, DodoManageStats
      type(DodoManageStats), intent(out) :: st
    end function

    integer(c_int) function dodo_manage_set(option, value) bind(C)
      import :: c_int, c_int64_t
      integer(c_int), value :: option
      integer(c_int64_t), value :: value
    end function
  end interface

  private :: text_of

contains

  ! The text behind the error of this thread's last failed call.
  function dodo_last_error() result(text)
    character(:), allocatable :: text
    interface
      type(c_ptr) function last_error() bind(C, name="dodo_last_error")
        import :: c_ptr
      end function
    end interface
    text = text_of(last_error())
  end function

  function dodo_version() result(text)
    character(:), allocatable :: text
    interface
      type(c_ptr) function version() bind(C, name="dodo_version")
        import :: c_ptr
      end function
    end interface
    text = text_of(version())
  end function

  ! The errno of this thread; at once after the call that failed.
  integer(c_int) function dodo_errno()
    integer(c_int), pointer :: there
    interface
      type(c_ptr) function errno_location() bind(C, name="__errno_location")
        import :: c_ptr
      end function
    end interface
    call c_f_pointer(errno_location(), there)
    dodo_errno = there
  end function

  function text_of(at) result(text)
    type(c_ptr), intent(in) :: at
    character(:), allocatable :: text
    character(kind=c_char), pointer :: there(:)
    integer :: i
    interface
      integer(c_size_t) function strlen(string) bind(C)
        import :: c_ptr, c_size_t
        type(c_ptr), value :: string
      end function
    end interface
    call c_f_pointer(at, there, [strlen(at)])
    allocate(character(size(there)) :: text)
    do i = 1, size(there)
      text(i:i) = there(i)
    end do
  end function
end module
