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

# For Python: a source archive, and of it a wheel with the library inside, for every Python 3. That library runs with this glibc and
# later ones, whatever compiles it: it is linked with stubs of that glibc, and libstdc++ is in it. clang makes its kernels where it is.
manylinux    := 2.28
wheel_images := $(if $(CLANG),$(if $(images),$(kernels:%.cu=build/kernels/%.ptx)),$(images))
$(eval $(call stamp,$(B)/wheel/list,$(manylinux) $(CXX) $(shell $(CXX) -dumpfullversion 2>/dev/null) $(wheel_images)))
$(B)/wheel/images.S: $(wheel_images) $(B)/wheel/list
	@$(call embed,$(wheel_images))
$(B)/wheel/glibc/compat.o: tools/glibc_stubs.py $(B)/wheel/list
	@rm -rf $(@D) && python3 $< $(manylinux) '$(CXX)' $(@D)
$(B)/wheel/libcudaenc.so.$(abi): $(objects) $(B)/wheel/images.o $(B)/wheel/glibc/compat.o $(B)/shared/libcudaenc.map
	@echo "LINK    $@"
	@$(CXX) $(CXXFLAGS) -shared -pthread -static-libstdc++ -s -o $@ $(filter %.o,$^) -Wl,-soname,$(@F) -Wl,--version-script=$(B)/shared/libcudaenc.map \
	    -Wl,-z,defs -Wl,-z,relro,-z,now,--as-needed,--gc-sections,--build-id=sha1 -L$(@D)/glibc $(LDFLAGS) -lm -ldl $(@D)/glibc/ld-linux-*
python_files := $(filter-out python/cudaenc/_declarations.py python/cudaenc/_options.py,$(wildcard python/* python/*/*.py python/*/py.typed))
$(B)/python/built: $(B)/wheel/libcudaenc.so.$(abi) $(python_files) common/cudaenc.h LICENSE | build/venv/bin/pyproject-build
	@rm -rf $(B)/python && mkdir -p $(B)/python
	@CUDAENC_LIBRARY=$(CURDIR)/$< build/venv/bin/pyproject-build --outdir $(B)/python \
	    -C=--build-option=--plat-name=manylinux_$(subst .,_,$(manylinux))_$(firstword $(subst -, ,$(shell $(CXX) -dumpmachine))) python >$(B)/python/log 2>&1 || \
	    { tail -n 40 $(B)/python/log; exit 1; }
	@ls $(B)/python/*.whl $(B)/python/*.tar.gz && touch $@

installed_headers := $(DESTDIR)$(PREFIX)/include
installed_libs    := $(DESTDIR)$(LIBDIR)
do-install: do-lib $(if $(SHARED),$(shared)/built)
	install -d '$(installed_headers)' '$(installed_libs)/pkgconfig' '$(installed_libs)/cmake/cudaenc'
	install -m 644 common/cudaenc.h '$(installed_headers)/'
	install -m 644 $(B)/lib/libcudaenc.a $(B)/shared/libcudaenc.so.$(version) '$(installed_libs)/'
	cp -P $(B)/shared/libcudaenc.so.$(abi) $(B)/shared/libcudaenc.so '$(installed_libs)/'
	$(call pkgconfig,$(installed_libs)/pkgconfig/libcudaenc.pc,$${prefix}/include,$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR)),,$(PREFIX))
	for file in Config ConfigVersion; do sed 's|@VERSION@|$(version)|; s|@ABI@|$(abi)|; s|@HEADERS@|'"$$(realpath -m --relative-to='$(LIBDIR)/cmake/cudaenc' '$(PREFIX)/include')"'|' \
	    make/cmake/cudaenc$$file.cmake >'$(installed_libs)'/cmake/cudaenc/cudaenc$$file.cmake; done
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) install DESTDIR='$(DESTDIR)')

uninstall:
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) uninstall DESTDIR='$(DESTDIR)')
	rm -f '$(installed_headers)/cudaenc.h' '$(installed_libs)/libcudaenc.a' '$(installed_libs)/pkgconfig/libcudaenc.pc' \
	    '$(installed_libs)/libcudaenc.so'{,.$(abi),.$(version)} '$(installed_libs)'/cmake/cudaenc/cudaencConfig{,Version}.cmake
