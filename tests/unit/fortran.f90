! SPDX-License-Identifier: MIT
! fortran FILE: the module's calls on a file of 1 MiB, whose byte i is mod(7 * i, 251), without a
! cluster. Ends with a status above 0 at the first thing that is not as it should be.
program fortran
  use dodo
  implicit none
  integer, parameter :: total = 1048576
  integer(c_int8_t), target, asynchronous :: buf(total), late(8192)
  integer(c_int8_t) :: wanted(total)
  integer, target :: tags(3)
  integer :: file, i, rd, code
  character(4096) :: path
  type(dodo_iovec) :: iov(2)
  type(DodoStat) :: st
  type(DodoManageStats) :: cache
  type(DodoDone) :: done(4)
  type(c_ptr) :: q, third

  call get_command_argument(1, path)
  open (newunit=file, file=path, access="stream", form="unformatted", status="old", action="readwrite")
  do i = 1, total
    wanted(i) = int(mod(7_c_int64_t * (i - 1), 251_c_int64_t) - 128, c_int8_t)
  end do

  ! the region cache
  rd = dodo_copen(int(total, c_size_t), fnum(file), 0_dodo_off)
  call must(rd >= 0, 1)
  call must(dodo_cread(rd, 0_dodo_off, buf, int(total, c_size_t)) == total, 2)
  call must(all(buf == wanted), 3)
  call must(dodo_cread(rd, 1000000_dodo_off, buf(11:), int(total, c_size_t)) == 48576, 4)
  call must(all(buf(11:48586) == wanted(1000001:)), 5)
  wanted(101:103) = [integer(c_int8_t) :: 1, 2, 3]
  call must(dodo_cwrite(rd, 100_dodo_off, wanted(101:103), 3_c_size_t) == 3, 6)
  call must(dodo_csync(rd) == 0, 7)
  call must(dodo_manage_stats(cache) == 0, 8)
  call must(cache%regions == 1, 9)
  call must(cache%write_bytes == 3, 10)
  call must(cache%limit_bytes > 0, 11)
  call must(dodo_copen(1_c_size_t, fnum(file), 0_dodo_off) == -1, 12)
  code = dodo_errno()
  call must(code == 16, 13)
  call must(index(dodo_last_error(), "region") > 0, 14) ! EBUSY
  call must(dodo_manage_set(DODO_MANAGE_CACHE_BYTES, 1048576_c_int64_t) == -1, 15)
  call must(dodo_csetPolicy(DODO_MANAGE_LRU) == 0, 16)
  call must(dodo_csetPolicy(99_c_int) == -1, 17)
  call must(dodo_cclose(rd) == 0, 18)
  call must(dodo_cclose(rd) == -1, 19)

  ! a region of remote memory, without any
  call must(dodo_mopen(int(total, c_size_t), fnum(file), 0_dodo_off) == -1, 20)
  rd = dodo_mopen_flags(int(total, c_size_t), fnum(file), 0_dodo_off, DODO_FALLBACK)
  call must(rd >= 0, 21)
  call must(dodo_mread(rd, 50_dodo_off, buf, 5000_c_size_t) == 5000, 22)
  call must(all(buf(:5000) == wanted(51:5050)), 23)
  call must(dodo_mwrite(rd, 200_dodo_off, wanted(1:9), 9_c_size_t) == 9, 24)
  wanted(201:209) = wanted(1:9)
  iov = [dodo_iovec(c_loc(buf(1)), 300), dodo_iovec(c_loc(late(1)), 400)]
  call must(dodo_mreadv(rd, iov, 2, 100_dodo_off) == 700, 25)
  call must(all(buf(:300) == wanted(101:400)), 26)
  call must(all(late(:400) == wanted(401:800)), 27)
  call must(dodo_mwritev(rd, iov, 2, 5000_dodo_off) == 700, 28)
  call must(dodo_msync(rd) == 0, 29)
  wanted(5001:5700) = wanted(101:800)
  call must(dodo_prefetch(rd, 0_dodo_off, 4096_c_size_t) == 0, 30)
  call must(dodo_mdiscard(rd, 0_dodo_off, 4096_c_size_t) == 0, 90)
  call must(dodo_mfillv(rd, iov, 2, 5000_dodo_off) == -1, 31) ! there is no memory to fill
  call must(dodo_stat(rd, st) == 0, 32)
  call must(st%length == total, 33)
  call must(st%written == 709, 34)
  call must(st%misses == 5700, 35)
  call must(st%flags == DODO_FALLBACK, 36)
  call must(st%active == 0, 37)

  ! a queue
  q = dodo_queue_open(4_c_int)
  call must(c_associated(q), 38)
  call must(dodo_queue_fd(q) >= 0, 39)
  buf(:8192) = wanted(101:8292)
  call must(dodo_queue_write(q, rd, 0_dodo_off, c_loc(buf), 8192_c_size_t, c_loc(tags(1))) == 0, 40)
  call must(dodo_queue_read(q, rd, 0_dodo_off, c_loc(late), 8192_c_size_t, c_loc(tags(2))) == 0, 41)
  call must(dodo_queue_sync(q, rd, c_loc(tags(3))) == 0, 42)
  call must(dodo_queue_cancel(q, c_null_ptr) == 0, 43)
  third = c_loc(tags(3))
  do i = 1, 3
    call must(dodo_queue_wait(q, done, 1_c_int, -1_c_int) == 1, 44)
    call must(done(1)%error == 0, 45)
    if (c_associated(done(1)%tag, third)) then
      call must(done(1)%result == 0, 46)
    else
      call must(done(1)%result == 8192, 47)
    end if
  end do
  wanted(1:8192) = wanted(101:8292)
  call must(all(late == wanted(1:8192)), 48)
  call must(dodo_queue_close(q) == 0, 49)
  call must(dodo_mclose(rd) == 0, 50)
  call must(dodo_shutdown() == 0, 51)
  call must(len(dodo_version()) >= 5, 52)
  rewind (file)
  read (file) buf
  call must(all(buf == wanted), 53)
contains
  subroutine must(good, number)
    logical, intent(in) :: good
    integer, intent(in) :: number
    if (good) return
    print "(a, i0, 2a)", "not as it should be: ", number, "; the last error: ", dodo_last_error()
    stop 1
  end subroutine
end program
