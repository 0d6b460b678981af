! SPDX-License-Identifier: MIT
! The smallest program in Fortran that uses the region cache: pieces of a file in random order, most of
! them from local memory, or from another host's where there are some. It needs no cluster to run.
! With Dodo installed:
!   gfortran $(pkg-config --variable=includedir dodo)/dodo/dodo.f90 manage.f90 -o manage $(pkg-config --libs dodo-manage)
!   DODO_CACHE_SIZE=1M DODO_STATS=1 DODO_MANAGER=HOST:PORT DODO_KEY=FILE ./manage FILE
program manage
  use dodo
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  integer, parameter :: piece = 2048, reads = 20000 ! numbers of 8 bytes
  integer(c_size_t), parameter :: bytes = 8 * piece
  real(c_double) :: buf(piece), where
  character(4096) :: path
  integer :: file, i, rd
  integer(c_int64_t) :: size
  integer(dodo_off) :: at
  type(DodoManageStats) :: st

  call get_command_argument(1, path)
  open (newunit=file, file=path, access="stream", form="unformatted", status="old", &
        action="readwrite", iostat=i)
  if (i /= 0) call usage()
  inquire (unit=file, size=size)
  if (size < bytes) call usage()
  rd = dodo_copen(size, fnum(file), 0_dodo_off) ! all of it; it may be larger than the cache
  if (rd < 0) call fail("copen")
  close (file) ! the library has its own description of it
  do i = 1, reads
    call random_number(where)
    at = int(where * real(size / bytes, c_double), dodo_off) * bytes
    if (dodo_cread(rd, at, buf, bytes) /= bytes) call fail("cread") ! from wherever it is
    if (mod(i, 100) == 0) then
      if (dodo_cwrite(rd, at, buf, bytes) /= bytes) call fail("cwrite") ! to local memory
    end if
  end do
  if (dodo_csync(rd) < 0) call fail("csync") ! now the disk has it
  if (dodo_manage_stats(st) == 0) print "(i0, 3(a, i0), a)", reads, " reads: ", st%local_hits, &
    " from local memory, ", st%remote_hits, " from remote memory, ", st%disk_reads, " from the file"
  if (dodo_cclose(rd) < 0) call fail("cclose")
contains
  subroutine usage()
    write (error_unit, "(a)") "usage: manage FILE    (that may be written, of 16 KiB at least)"
    stop 2, quiet=.true.
  end subroutine

  subroutine fail(call)
    character(*), intent(in) :: call
    write (error_unit, "(3a)") call, ": ", dodo_last_error()
    stop 1, quiet=.true.
  end subroutine
end program
