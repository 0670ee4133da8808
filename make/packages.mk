# SPDX-License-Identifier: LGPL-2.1-or-later
# Packages: for Windows and for Python; what is installed, and goes away again.

# For Windows, by mingw-w64: the CPU's part, as a DLL that needs no other. At -O3 its H.264 faults under Wine.
mingw := x86_64-w64-mingw32-
windows_objects := $(host_sources:%.cpp=$(B)/windows/obj/%.o)
$(B)/windows/obj/%.o: %.cpp $(B)/obj/flags | build/src/headers
	@mkdir -p $(@D)
	@echo "MINGW   $<"
	@$(mingw)g++-posix $(filter-out -fPIC -fvisibility=% -O3,$(cxxflags)) -O2 -DCUDAENC_ONE_TARGET= -Wno-format -Wno-format-extra-args -MMD -MP -c $< -o $@
$(B)/windows/libcudaenc-0.dll: $(windows_objects) $(B)/shared/libcudaenc.map
	@echo "LINK    $@"
	@printf '#include "images.h"\nextern const CudaencImage cudaenc_images[] = {{nullptr, nullptr, 0}};\n' >$(@D)/images.cpp
	@{ echo EXPORTS; sed -n 's/^\(cudaenc_.*\);/\1/p' $(B)/shared/libcudaenc.map; } >$(@D)/exports.def
	@$(mingw)g++-posix -std=c++20 -Icuda_kernels -shared -static -o $@ $(windows_objects) $(@D)/images.cpp $(@D)/exports.def \
	    -Wl,--out-implib,$(@D)/libcudaenc.dll.a -lpthread

# A wheel with the shared library inside.
build/python/built: $(B)/shared/libcudaenc.so $(wildcard python/* python/cudaenc/*) common/cudaenc.h
	@rm -rf build/python && mkdir -p build/python
	@python3 -m venv build/python/venv
	@build/python/venv/bin/pip --quiet wheel --no-deps --wheel-dir build/python ./python
	@ls build/python/*.whl && touch $@

installed_headers := $(DESTDIR)$(PREFIX)/include
installed_libs    := $(DESTDIR)$(LIBDIR)
do-install: do-lib $(if $(SHARED),$(shared)/built)
	install -d '$(installed_headers)' '$(installed_libs)/pkgconfig'
	install -m 644 common/cudaenc.h '$(installed_headers)/'
	install -m 644 $(B)/lib/libcudaenc.a $(B)/shared/libcudaenc.so.$(version) '$(installed_libs)/'
	cp -P $(B)/shared/libcudaenc.so.$(abi) $(B)/shared/libcudaenc.so '$(installed_libs)/'
	$(call pkgconfig,$(installed_libs)/pkgconfig/libcudaenc.pc,$(PREFIX)/include,$(LIBDIR))
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) install DESTDIR='$(DESTDIR)')

uninstall:
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) uninstall DESTDIR='$(DESTDIR)')
	rm -f '$(installed_headers)/cudaenc.h' '$(installed_libs)/libcudaenc.a' '$(installed_libs)/pkgconfig/libcudaenc.pc' \
	    '$(installed_libs)/libcudaenc.so'{,.$(abi),.$(version)}
